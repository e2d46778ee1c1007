// Prints the readings of up to sixteen gas sensors ten times a second, one line each time:
//
//     U1,<sequence>,<millis>,NAME=VALUE,...*<CRC-16>
//     U1,17,1700,MOX1=312,MOX2=287*6B3B
//
// The CRC is CRC-16/CCITT-FALSE (polynomial 0x1021, start 0xFFFF) of everything before the '*', as four hexadecimal
// digits, so that the computer knows a damaged line from a sound one. Sequence and millis() count up to 2^32 and begin
// anew; the computer knows that, too.
//
// Change SENSORS to what is wired to your board. Names need no unit: the readings are converter counts. Names must be
// 1 to 40 characters without , = * : ; or quotation marks. Then: unmixnet devices; unmixnet live --serial PORT
//
// Works on any board of the Arduino family (AVR, SAMD, ESP32, RP2040).

struct Sensor {
  const char *name;
  int pin;
};

const Sensor SENSORS[] = {
    {"MOX1", A0},
    {"MOX2", A1},
    {"MOX3", A2},
    {"MOX4", A3},
};

const uint8_t COUNT = sizeof(SENSORS) / sizeof(SENSORS[0]);
const uint32_t PERIOD_MS = 100;  // 10 Hz
const uint8_t AVERAGED = 8;      // readings of the converter that are averaged for one sample
const uint32_t BAUD = 115200;    // ignored by boards with USB of their own

uint32_t sequence = 0;
uint32_t due = 0;
uint16_t crc = 0xFFFF;

// One byte of CRC-16/CCITT-FALSE.
uint16_t crcOf(uint16_t value, uint8_t byte) {
  value ^= (uint16_t)byte << 8;
  for (uint8_t bit = 0; bit < 8; bit++) {
    value = (value & 0x8000) ? (value << 1) ^ 0x1021 : value << 1;
  }
  return value;
}

// Prints a text and counts it into the checksum.
void emit(const char *text) {
  for (const char *c = text; *c; c++) {
    crc = crcOf(crc, (uint8_t)*c);
  }
  Serial.print(text);
}

void emit(uint32_t number) {
  char text[11];
  snprintf(text, sizeof(text), "%lu", (unsigned long)number);
  emit(text);
}

uint32_t reading(int pin) {
  uint32_t sum = 0;
  for (uint8_t i = 0; i < AVERAGED; i++) {
    sum += analogRead(pin);
  }
  return (sum + AVERAGED / 2) / AVERAGED;
}

void printSample(uint32_t now) {
  crc = 0xFFFF;
  emit("U1,");
  emit(sequence++);
  emit(",");
  emit(now);
  for (uint8_t i = 0; i < COUNT; i++) {
    emit(",");
    emit(SENSORS[i].name);
    emit("=");
    emit(reading(SENSORS[i].pin));
  }
  char check[6];
  snprintf(check, sizeof(check), "*%04X", (unsigned)crc);
  Serial.println(check);
}

void setup() {
  Serial.begin(BAUD);
  due = millis();
}

void loop() {
  uint32_t now = millis();
  // The difference is right even when millis() begins anew.
  if ((int32_t)(now - due) >= 0) {
    due += PERIOD_MS;
    // After a pause (a blocked port) take up the rhythm again rather than catching up.
    if ((int32_t)(now - due) >= 0) {
      due = now + PERIOD_MS;
    }
    printSample(now);
  }
}
