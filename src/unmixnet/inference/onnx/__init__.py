"""Models for other programs: ONNX, checked against ONNX Runtime."""
