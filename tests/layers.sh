#!/bin/sh
# The dependency rule (docs/architecture.md): agent <- analyzer <- report <- cli. A folder includes itself
# and folders to its left; of agent/ others include spool_format.h alone. reference_workloads/ includes
# none of them and none include it. Inside analyzer/: base <- store <- import, model <- analyze <- rules <-
# compare, where analyze and rules may know each other's headers. sqlite3.h only in analyzer/store/.
cd "$(dirname "$0")/.." || exit 2
bad=0
deny() { # deny FOLDER REGEX WHY
    hits=$(grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]+[<\"]($2)" "$1" --include='*.[ch]' --include='*.cu' --include='*.cuh')
    [ -z "$hits" ] && return
    printf '%s\n  (%s)\n' "$hits" "$3"
    bad=1
}
deny agent '(analyzer|report|cli|reference_workloads)/' 'agent/ includes itself alone'
deny analyzer '(report|cli|reference_workloads)/' 'analyzer/ may include wire/spool_format.h and itself'
deny report '(cli|reference_workloads)/' 'report/ may include analyzer/ and itself'
deny cli 'reference_workloads/' 'cli/ includes no workload'
deny reference_workloads '(agent|analyzer|report|cli)/' 'reference_workloads/ stands alone'
for folder in analyzer report cli; do
    deny $folder 'agent/([^s]|s[^p]|sp[^o]|spool\.)' 'of agent/ only spool_format.h is public'
done
for folder in agent report cli reference_workloads analyzer/base analyzer/import analyzer/model analyzer/analyze analyzer/rules analyzer/compare; do
    deny $folder 'sqlite3\.h' 'sqlite3.h belongs to analyzer/store/'
done
deny analyzer/base 'analyzer/(store|import|model|analyze|rules|compare)/' 'base is a leaf'
deny analyzer/store 'analyzer/(import|model|analyze|rules|compare)/' 'store knows base alone'
deny analyzer/import 'analyzer/(model|analyze|rules|compare)/' 'importers know base and store'
deny analyzer/model 'analyzer/(import|analyze|rules|compare)/' 'the model knows base and store'
deny analyzer/analyze 'analyzer/(import|compare)/' 'analysis does not know where records come from'
deny analyzer/rules 'analyzer/(import|compare)/' 'rules read the analysis'
[ $bad = 0 ] && echo "layers: ok"
exit $bad
