"""Complex event queries on Apache Spark, from Python."""
