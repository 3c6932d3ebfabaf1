# cmake -DIN=file -DOUT=file.c -DSYMBOL=name -P embed.cmake
file(READ ${IN} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "#include <stddef.h>
extern const char ${SYMBOL}[];
extern const size_t ${SYMBOL}_size;
const char ${SYMBOL}[] = {
${bytes}0x00};
const size_t ${SYMBOL}_size = ${size};
")
