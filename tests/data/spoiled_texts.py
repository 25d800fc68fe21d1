"""Contents of text files with which something is wrong, by what it is."""

from __future__ import annotations

HEADER = b"user,item,value,time,rank,prediction,label,arm,reward,p\n"
ROW = b"1,2,3,4,1,0.5,1,a,1,0.5\n"
TEXTS = {
    "nothing": b"",
    "blank lines": b"\n\n \n",
    "a header alone": HEADER,
    "carriage returns": (HEADER + ROW * 3).replace(b"\n", b"\r"),
    "mixed line ends": HEADER + ROW + ROW[:-1] + b"\r" + ROW + ROW[:-1] + b"\r\n" + ROW,
    "a long field": HEADER + ROW + ROW.replace(b",a,", b"," + b"a" * 200_000 + b","),
    "a long header": HEADER.replace(b"time", b"t" * 200_000) + ROW,
    "a long number": HEADER + ROW.replace(b",a,", b"," + b"9" * 200_000 + b"x,"),
    "ids of a thousand digits": HEADER + b"9" * 4000 + b"," + ROW,
    "times of a thousand digits": HEADER + ROW.replace(b",4,", b"," + b"9" * 4000 + b","),
    "a time of no calendar": HEADER + ROW.replace(b",4,", b",2024-13-45,"),
    "null characters": HEADER + ROW.replace(b"a", b"\0"),
    "only null characters": b"\0" * 100,
    "utf-16": (HEADER + ROW).decode().encode("utf-16"),
    "utf-16 without a mark": (HEADER + ROW).decode().encode("utf-16-le"),
    "utf-32": (HEADER + ROW).decode().encode("utf-32"),
    "invalid utf-8": HEADER + ROW.replace(b"a", b"\xff\xfe\x80"),
    "a byte order mark": b"\xef\xbb\xbf" + HEADER + ROW,
    "columns of one name": HEADER.replace(b"time", b"user") + ROW,
    "columns without names": HEADER.replace(b"time", b"").replace(b"arm", b"") + ROW,
    "a hundred thousand columns": b"," * 100_000,
    "too many fields": HEADER + ROW + b"1,2" + ROW,
    "too few fields": HEADER + ROW + b"1,2\n" + ROW,
    "an open quote": HEADER + ROW + b'"' + ROW * 3,
    "an open quote in the header": b'"' + HEADER + ROW,
    "text among numbers": HEADER + ROW * 20_000 + ROW.replace(b"3", b"x"),
    "not a table": b"hello\n",
}
