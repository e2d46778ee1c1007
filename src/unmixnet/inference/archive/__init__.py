"""Archives: folders of recordings or Parquet data sets of any size, unmixed window by window."""
