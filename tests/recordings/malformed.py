"""Twenty families of malformed input, five variants each, with the code that the reader must give."""

from dataclasses import dataclass

from unmixnet.recordings.codes import Code

from .valid_text import MIXTURE_HEADER, base, mixture, mixture_rows, plotter, text

SENTINEL = "4294967295"


@dataclass(frozen=True)
class Case:
    """A damaged file and the code that it must yield, as a refusal or as a finding."""

    family: str
    variant: str
    raw: bytes
    code: Code
    name: str = "almond_50_clove_50.61aaaaaa.csv"


def _with_field(lines: list[str], row: int, column: int, value: str, separator: str = ",") -> list[str]:
    fields = lines[row].split(separator)
    fields[column] = value
    return [*lines[:row], separator.join(fields), *lines[row + 1 :]]


def _column(lines: list[str], column: int, value: str) -> list[str]:
    for row in range(1, len(lines)):
        lines = _with_field(lines, row, column, value)
    return lines


def _renamed(lines: list[str], old: str, new: str) -> list[str]:
    return [lines[0].replace(old, new), *lines[1:]]


def _inserted(lines: list[str], at: int, *new: str) -> list[str]:
    return [*lines[:at], *new, *lines[at:]]


def _decimal_comma(lines: list[str]) -> list[str]:
    return [lines[0].replace(",", ";")] + [line.replace(",", ";").replace(".", ",") for line in lines[1:]]


def _times(values: list[int], header: str = MIXTURE_HEADER) -> list[str]:
    rows = [row.split(",", 1)[1] for row in mixture_rows(len(values))]
    return [header] + [f"{value},{row}" for value, row in zip(values, rows, strict=True)]


def _dead_bme680(lines: list[str], columns: dict[int, str]) -> list[str]:
    for column, value in columns.items():
        lines = _column(lines, column, value)
    return lines


BOOT = (
    "ets Jun  8 2016 00:22:57",
    "rst:0x1 (POWERON_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)",
    "entry 0x400806b4",
)
ASLEEP = {7: "33.59", 8: "688.6", 9: "100.0", 10: "0.0", 11: "3170.54"}
M, B = mixture(), base()
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "ab" * 32 + "\nsize 12345\n"

FAMILIES: dict[str, list[tuple[str, bytes, Code]]] = {
    "sentinel": [
        ("whole channel", text(_column(B, 6, SENTINEL)), Code.SENTINEL),
        ("one reading", text(_with_field(B, 9, 6, SENTINEL)), Code.SENTINEL),
        ("with a decimal point", text(_column(B, 6, SENTINEL + ".0")), Code.SENTINEL),
        ("in a mixture", text(_with_field(M, 5, 2, SENTINEL)), Code.SENTINEL),
        ("first row", text(_with_field(B, 1, 4, SENTINEL)), Code.SENTINEL),
    ],
    "dead-sensor constants": [
        ("BME680 asleep", text(_dead_bme680(B, ASLEEP)), Code.DEAD),
        ("other temperature", text(_dead_bme680(B, {**ASLEEP, 7: "32.10"})), Code.DEAD),
        ("gas resistance zero", text(_column(B, 10, "0")), Code.DEAD),
        ("converter at zero", text(_column(M, 1, "0")), Code.DEAD),
        ("one count forever", text(_column(M, 1, "512")), Code.STUCK),
    ],
    "header spellings": [
        ("C2H5CH", text(_renamed(M, "C2H5OH", "C2H5CH")), Code.HEADER_SPELLING),
        ("C2H50H", text(_renamed(B, "C2H5OH", "C2H50H")), Code.HEADER_SPELLING),
        ("lower case", text(_renamed(M, "NO2", "no2")), Code.HEADER_SPELLING),
        (
            "a space for an underscore",
            text(_renamed(B, "Gas_Resistance", "Gas Resistance")),
            Code.HEADER_SPELLING,
        ),
        ("zero for O", text(_renamed(M, "NO2", "N02")), Code.HEADER_SPELLING),
    ],
    "cut by power loss": [
        ("inside a number", text(M)[:-3], Code.CUT_LINE),
        ("after a separator", text(M)[: text(M).rindex(b",") + 1], Code.CUT_LINE),
        ("after the first field", text(B) + b"512", Code.CUT_LINE),
        ("before the line end", text(M)[:-1], Code.CUT_LINE),
        ("with NUL bytes after it", text(M) + bytes(512), Code.NUL_TAIL),
    ],
    "semicolon and decimal comma": [
        ("mixture", text(_decimal_comma(M)), Code.DECIMAL_COMMA),
        ("base", text(_decimal_comma(B)), Code.DECIMAL_COMMA),
        ("CRLF", text(_decimal_comma(M), "\r\n"), Code.DECIMAL_COMMA),
        ("both signs", text(_with_field(_decimal_comma(B), 3, 7, "25.5", ";")), Code.BAD_NUMBER),
        ("commas for both", text(["a,b", *(["1,5,2,5"] * 9)]), Code.EXTRA_FIELD),
    ],
    "plotter lines": [
        ("plain", text(plotter()), Code.UNIT_UNKNOWN),
        ("without a rate", text([line.replace(",", "\t") for line in plotter()]), Code.RATE_ASSUMED),
        (
            "spaces",
            text([line.replace(",", ", ").replace(":", ": ") for line in plotter()]),
            Code.RATE_ASSUMED,
        ),
        ("a channel missing", text(_inserted(plotter(), 20, "NO2:31")), Code.RAGGED_ROW),
        ("a damaged value", text(_inserted(plotter(), 20, "NO2:3x,CO:2")), Code.BAD_NUMBER),
    ],
    "boot text": [
        ("before a header", text([*BOOT, *M]), Code.BOOT_TEXT),
        ("before plotter lines", text([*BOOT, *plotter()]), Code.BOOT_TEXT),
        ("between plotter lines", text(_inserted(plotter(), 20, "WiFi lost", "WiFi back")), Code.BOOT_TEXT),
        ("between rows", text(_inserted(M, 20, *BOOT)), Code.RESTART),
        ("one line between rows", text(_inserted(B, 20, "Initializing BME680 sensor...")), Code.RESTART),
    ],
    "second header after reset": [
        ("the same", text([*M, *M]), Code.RESTART),
        ("base", text(_inserted(B, 17, B[0])), Code.RESTART),
        ("other spelling of one name", text(_inserted(M, 9, M[0].replace("C2H5OH", "C2H5CH"))), Code.RESTART),
        ("after boot text", text([*M, *BOOT, *M]), Code.RESTART),
        ("as the last line", text([*M, M[0]]), Code.RESTART),
    ],
    "inf, nan, ovf": [
        (token, text(_with_field(B, 12, 7, token)), Code.NOT_A_READING) for token in ("nan", "inf", "-inf", "ovf", "")
    ],
    "ragged row": [
        ("too short", text(_inserted(M, 9, "900.0,512,600")), Code.RAGGED_ROW),
        ("too long", text(_inserted(M, 9, "850.0,512,600,1,2,3")), Code.RAGGED_ROW),
        ("one number", text(_inserted(B, 9, "512")), Code.RAGGED_ROW),
        ("two rows in one line", text([*M[:9], M[9] + "," + M[10], *M[11:]]), Code.RAGGED_ROW),
        ("last line short", text([*B, "512,600"]), Code.RAGGED_ROW),
    ],
    "duplicate column": [
        ("the same name", text(_renamed(M, "VOC", "NO2")), Code.DUPLICATE_COLUMN),
        ("two spellings", text(_renamed(M, "VOC", "C2H5CH")), Code.DUPLICATE_COLUMN),
        ("other case", text(_renamed(B, "LPG", "alcohol")), Code.DUPLICATE_COLUMN),
        ("in plotter lines", text(["CO:1,CO:2"] * 9), Code.DUPLICATE_COLUMN),
        ("with a unit", text(["CO [counts],CO [kOhm]", *(["1,2"] * 9)]), Code.DUPLICATE_COLUMN),
    ],
    "NUL bytes": [
        ("inside a number", text(M).replace(b"100.0", b"1\x000.0", 1), Code.NUL_BYTES),
        ("a block", text(M)[:300] + bytes(512) + text(M)[300:], Code.NUL_BYTES),
        ("in the header", b"\x00" + text(M), Code.NUL_BYTES),
        ("at a line end", text(M).replace(b"\n", b"\x00\n", 3), Code.NUL_BYTES),
        ("nothing else", bytes(4096), Code.EMPTY),
    ],
    "constant extra field": [
        ("a number", text([M[0]] + [line + ",7" for line in M[1:]]), Code.EXTRA_FIELD),
        ("in front", text([B[0]] + ["0," + line for line in B[1:]]), Code.EXTRA_FIELD),
        ("a word", text([B[0]] + [line + ",ok" for line in B[1:]]), Code.EXTRA_FIELD),
        ("nothing after a separator", text([M[0]] + [line + "," for line in M[1:]]), Code.TRAILING_SEPARATOR),
        ("header too", text([line + "," for line in B]), Code.TRAILING_SEPARATOR),
    ],
    "absurd sizes": [
        (token, text(_with_field(B, 12, 7, token)), Code.ABSURD_VALUE)
        for token in ("1e308", "-1e308", "4.9e-324", "1e400", "2.2E-310")
    ],
    "quoted thousands": [
        ("one field", text(_with_field(M, 12, 1, '"1,023"')), Code.QUOTED_THOUSANDS),
        ("with decimals", text(_with_field(B, 12, 8, '"1,010.25"')), Code.QUOTED_THOUSANDS),
        ("millions", text(_with_field(B, 1, 6, '"4,294,967"')), Code.QUOTED_THOUSANDS),
        ("apostrophe", text(_with_field(B, 1, 8, "1'010")), Code.QUOTED_THOUSANDS),
        ("narrow space", text(_with_field(B, 1, 8, "1\u202f010")), Code.QUOTED_THOUSANDS),
    ],
    "empty": [
        ("no byte", b"", Code.EMPTY),
        ("a newline", b"\n", Code.EMPTY),
        ("blank lines", b" \r\n\t\r\n\r\n", Code.EMPTY),
        ("a byte-order mark", b"\xef\xbb\xbf", Code.EMPTY),
        ("UTF-16 mark", b"\xff\xfe", Code.EMPTY),
    ],
    "header only": [
        ("mixture", text(M[:1]), Code.NO_ROWS),
        ("base without newline", M[0].encode(), Code.NO_ROWS),
        ("blank lines after it", text([B[0], "", ""]), Code.NO_ROWS),
        ("one cut row", text(M[:1]) + b"0.0,5", Code.NO_ROWS),
        ("after boot text", text([*BOOT, B[0]]), Code.UNKNOWN_FORMAT),
    ],
    "time": [
        ("back", text(_times([0, 100, 200, 150, 300, 400])), Code.TIME_BACKWARDS),
        ("reset to zero", text(_times([5000, 5100, 5200, 0, 100, 200])), Code.TIME_BACKWARDS),
        (
            "millis() wrap",
            text(_times([2**32 - 250, 2**32 - 150, 2**32 - 50, 50, 150, 250])),
            Code.MILLIS_WRAP,
        ),
        (
            "micros() wrap",
            text(_times([2**32 - 900, 2**32 - 400, 100, 600, 1100], MIXTURE_HEADER.replace("_ms", "_us"))),
            Code.MILLIS_WRAP,
        ),
        ("stands still", text(_times([100] * 6)), Code.TIME_UNREADABLE),
    ],
    "encoding": [
        ("UTF-16 little", "\ufeff".encode("utf-16-le") + text(M).decode().encode("utf-16-le"), Code.ENCODING),
        ("UTF-16 big", "\ufeff".encode("utf-16-be") + text(M).decode().encode("utf-16-be"), Code.ENCODING),
        ("UTF-16 without a mark", text(B).decode().encode("utf-16-le"), Code.ENCODING),
        (
            "Latin-1 unit",
            text(["CO [counts],T [°C]", *(f"{i},2{i % 10}" for i in range(9))]).decode().encode("latin-1"),
            Code.ENCODING,
        ),
        ("Latin-1 in a number", text(_with_field(M, 7, 2, "5²")).decode().encode("latin-1"), Code.BAD_NUMBER),
    ],
    "LFS pointer": [
        ("plain", POINTER.encode(), Code.LFS_POINTER),
        ("CRLF", POINTER.replace("\n", "\r\n").encode(), Code.LFS_POINTER),
        ("without a final newline", POINTER.strip().encode(), Code.LFS_POINTER),
        ("byte-order mark", b"\xef\xbb\xbf" + POINTER.encode(), Code.LFS_POINTER),
        (
            "old specification",
            POINTER.replace("git-lfs.github.com", "git-lfs.example").encode(),
            Code.LFS_POINTER,
        ),
    ],
}

CASES = [Case(family, variant, raw, code) for family, variants in FAMILIES.items() for variant, raw, code in variants]
