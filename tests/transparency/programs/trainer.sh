# trainer.sh TRAINER ARGS...: its output without its times
"$@" >printed
status=$?
sed -E 's/[0-9]+\.[0-9]+/N/g' printed
rm printed
exit $status
