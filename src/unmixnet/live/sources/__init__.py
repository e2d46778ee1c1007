"""Sources of live readings: a serial port, an MQTT broker, a recording, a simulated chamber."""
