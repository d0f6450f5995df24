from __future__ import annotations
from datetime import UTC, datetime, timedelta
import pyarrow as pa, pytest
import eventide as ev
from tests.allen.test_spark import write_stream, run_stream, EPOCH
def test_chain(spark, tmp_path):
    n=40
    t=pa.table({"ts": pa.array([EPOCH+timedelta(seconds=i) for i in range(n)], pa.timestamp("us","UTC")), "room":[1]*n, "a":[i%10<5 for i in range(n)], "b":[3<=i%10<8 for i in range(n)]})
    s=write_stream(spark, tmp_path/"in", t, "ts", 2)
    A=ev.intervals.homogeneous(s,"a",partition_by="room",ts="ts"); B=ev.intervals.homogeneous(s,"b",partition_by="room",ts="ts")
    r=ev.allen(A,B,"overlaps",within="1 minute",partition_by="room")
    rows=run_stream(r,tmp_path)
    print("ROWS",len(rows))
