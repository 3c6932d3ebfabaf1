trap 'echo usr1' USR1
trap 'echo left $?' EXIT
(sleep 0.2; kill -USR1 $$) &
wait $!
sleep 0.3
exit 7
