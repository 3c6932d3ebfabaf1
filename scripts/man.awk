# Turns a page of docs/man/ into man(7) source: awk -v version=V -f man.awk gpuprof-run.md > gpuprof-run.1
# Knows what those pages use: one title "NAME(SECTION): what it is", ## sections, paragraphs, indented examples, lists
# ("- item"), terms followed by ": meaning" lines, and **bold**, `code`, *emphasis* inside a line.
function escaped(s) {
    gsub(/\\/, "\\e", s); gsub(/-/, "\\-", s)
    return s
}
function marked(s, mark, font,    n, parts, i, out) { # text between pairs of `mark` in another font
    n = split(s, parts, mark)
    out = parts[1]
    for (i = 2; i <= n; i++)
        out = out (i % 2 == 0 && i < n ? "\\f" font parts[i] "\\fR" : (i % 2 ? "" : (mark == "\\*" ? "*" : mark)) parts[i])
    return out
}
function inline(s) {
    s = escaped(s)
    gsub(/\*\*/, "`", s)
    s = marked(marked(s, "`", "B"), "\\*", "I")
    return s ~ /^[.']/ ? "\\&" s : s
}
function close_example() { if (example) { print ".EE\n.RE"; example = 0 } }
function flush_term() { if (term != "") { print inline(term); term = "" } }
NR == 1 {
    title = substr($0, 3); name = title; sub(/\(.*/, "", name); what = title; sub(/^[^:]*: /, "", what)
    printf ".TH %s 1 \"\" \"gpuprof %s\" \"gpuprof\"\n.SH NAME\n%s \\- %s\n", toupper(escaped(name)), version, escaped(name), escaped(what)
    next
}
/^## / { flush_term(); close_example(); print ".SH " substr($0, 4); fresh = 1; next }
/^    / && !meaning {
    flush_term()
    if (!example) { print (fresh ? "" : ".PP\n") ".RS 4\n.EX"; example = 1 }
    line = escaped(substr($0, 5)); print (line ~ /^[.']/ ? "\\&" : "") line; fresh = 0; next
}
/^$/ { flush_term(); if (example) { blank = 1 } else if (!fresh) { gap = 1 } meaning = 0; next }
/^: / { print ".TP"; print inline(term); term = ""; print inline(substr($0, 3)); meaning = 1; gap = 0; fresh = 0; next }
meaning && /^  / { sub(/^ +/, ""); print inline($0); next }
{
    close_example(); flush_term()
    if (/^- /) { print ".IP \\(bu 2\n" inline(substr($0, 3)); gap = fresh = 0; next }
    sub(/^ +/, "")
    if (gap && !fresh) print ".PP"
    gap = fresh = 0; term = $0
}
END { flush_term(); close_example() }
