"""How a timeline looks: colours that people with any colour vision tell apart, on light, dark and paper."""

from __future__ import annotations

# After Okabe and Ito, without the yellow that paper swallows.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MATCH = "#3f4a59"
DETECTED = "#c1121f"
FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif"

# In the picture itself, so that it also looks right as a file of its own.
PICTURE_CSS = f"""
text{{font-family:{FONT};font-size:12px;fill:#1b1f24}}
.title{{font-size:18px;font-weight:600}}
.soft{{fill:#5b6470;font-size:11px}}
.paper{{fill:#ffffff}}
.stripe{{fill:#f4f6f8}}
.grid{{stroke:#d9dee4;stroke-width:1}}
.edge{{stroke:#9aa4b0;stroke-width:1}}
.event{{stroke:#5b6470;stroke-width:1}}
.value{{fill:none;stroke-width:1.4;stroke-linejoin:round}}
.open{{fill:none;stroke-width:1.2;stroke-dasharray:4 3}}
.match{{fill:none;stroke:{MATCH};stroke-width:1.8}}
.late{{fill:none;stroke:{MATCH};stroke-width:1.4;stroke-dasharray:3 3}}
.number{{fill:{MATCH};font-size:11px;font-weight:600}}
.tight .number{{font-size:8px}}
.detected{{fill:{DETECTED};stroke:#ffffff;stroke-width:.8}}
.guide{{stroke:{DETECTED};stroke-width:.8;stroke-opacity:.35;stroke-dasharray:2 4}}
.match,.late,.value,.open{{vector-effect:non-scaling-stroke}}
"""

# More specific than the picture's own rules, which come later on the page.
_DARK_CSS = """
body{background:#14181d;color:#e6e9ed}
figure text{fill:#e6e9ed}
figure .soft{fill:#9aa4b0}
figure .paper{fill:#14181d}
figure .stripe{fill:#1b2027}
figure .grid{stroke:#2c343e}
figure .edge{stroke:#5b6470}
figure .event{stroke:#9aa4b0}
figure .match,figure .late{stroke:#d3d9e0}
figure .number{fill:#d3d9e0}
figure .detected{fill:#ff6b6b;stroke:#14181d}
figure .guide{stroke:#ff6b6b}
button{background:#1b2027;color:#e6e9ed;border-color:#3a444f}
"""

PAGE_CSS = f"""
body{{margin:0;padding:12px;background:#ffffff;color:#1b1f24;font-family:{FONT}}}
figure{{margin:0 auto;max-width:1200px}}
figure svg{{display:block;width:100%;height:auto;touch-action:pan-y}}
.tools{{display:flex;gap:6px;align-items:center;justify-content:flex-end;font-size:12px;min-height:28px}}
.tools output{{margin-right:auto;font-variant-numeric:tabular-nums}}
button{{font:inherit;padding:3px 9px;border:1px solid #c3cad2;border-radius:4px;background:#f4f6f8}}
button{{color:inherit;cursor:pointer}}
.plot{{cursor:crosshair}}
.area{{pointer-events:all}}
.hit:hover .match,.hit:hover .late{{stroke-width:3.2}}
.help{{color:#77818d;margin-right:6px}}
.tools[hidden]{{display:none}}
.cursor{{stroke:#9aa4b0;stroke-width:1;pointer-events:none}}
.chosen{{fill:#0072b2;fill-opacity:.15;pointer-events:none}}
@media screen and (prefers-color-scheme:dark){{{_DARK_CSS}}}
@media print{{
.tools{{display:none}}
body{{padding:0}}
figure{{max-width:none}}
*{{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
@page{{size:landscape;margin:12mm}}
}}
"""
