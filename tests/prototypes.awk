# Prototypes across rooms, for layers.sh. A room is a folder. Reads headers and sources, and prints each prototype in a
# header whose function another room defines and the header's own room does not: the arrow to that room is one that
# no include shows. What no file defines in plain sight (by a macro, or in a library of others) passes.
# The same for `extern` variables.
function room_of(file) { sub(/\/[^\/]*$/, "", file); return file }

# The name of the function in a declaration or in the head of a definition; "": it is none that other files can see.
function function_in(s,   name) {
    if (s ~ /=/ || s ~ /(^|[ \t])(typedef|static)[ \t]/ || !match(s, /[A-Za-z_][A-Za-z0-9_]* *\(/) || RSTART == 1) return ""
    name = substr(s, RSTART, RLENGTH - 1)
    sub(/ +$/, "", name)
    return name ~ /^(void|int|char|bool|size_t)$/ ? "" : name
}

# The same of a variable: "extern TYPE name" declares one, "TYPE name", "TYPE name = ..." and "TYPE name[...]" define it.
function variable_in(s) {
    sub(/=.*/, "", s)
    while (sub(/\[[^]]*\][ \t]*$/, "", s)) ;
    sub(/[ \t]+$/, "", s)
    if (s ~ /(^|[ \t])(typedef|static)[ \t]/ || s ~ /[(),]/ || !match(s, /[ \t*][A-Za-z_][A-Za-z0-9_]*$/) || s !~ /[A-Za-z_].*[ \t*][A-Za-z_]/) return ""
    return substr(s, RSTART + 1)
}

function declared(name) {
    if (name == "") return
    of[++count] = name
    from[count] = room_of(FILENAME)
    at[count] = FILENAME ":" FNR
}

function defined(name) {
    if (name == "") return
    own[name, room_of(FILENAME)] = 1
    elsewhere[name] = room_of(FILENAME)
}

function statement(s, mark) { # mark: what ends it
    gsub(/__attribute__ *\(\([^()]*(\([^()]*\)[^()]*)*\)\)/, "", s)
    if (s ~ /^[ \t]*extern[ \t]/ && s !~ /\(/)
        declared(variable_in(s))
    else if (mark == "{" && s !~ /=/)
        defined(function_in(s))
    else if (s !~ /\(/ || s ~ /=/)
        defined(variable_in(s))
    else if (FILENAME ~ /\.(h|cuh)$/)
        declared(function_in(s))
}

FNR == 1 { depth = 0; text = ""; in_comment = in_macro = 0 }

{
    line = $0
    if (in_comment) {
        if (!sub(/^.*\*\//, "", line)) next
        in_comment = 0
    }
    gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
    gsub(/'([^'\\]|\\.)'/, "0", line)
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", line)
    sub(/\/\/.*/, "", line)
    if (sub(/\/\*.*/, "", line)) in_comment = 1
    is_macro = in_macro || line ~ /^[ \t]*#/
    in_macro = is_macro && line ~ /\\$/
    if (is_macro || line ~ /^extern "" *\{/) next
    while (match(line, /[{};]/)) {
        mark = substr(line, RSTART, 1)
        if (depth == 0) text = text " " substr(line, 1, RSTART - 1)
        line = substr(line, RSTART + 1)
        if (mark == "}") {
            if (depth > 0) depth--
        } else if (depth == 0) {
            statement(text, mark)
            text = ""
        }
        if (mark == "{" && depth++ == 0) text = ""
    }
    if (depth == 0) text = text " " line
}

END {
    for (i = 1; i <= count; i++)
        if ((of[i] in elsewhere) && !own[of[i], from[i]]) {
            print at[i] ": declares " of[i] ", which " elsewhere[of[i]] " defines"
            bad = 1
        }
    exit bad
}
