#!/bin/bash
# Guards against a second instance, as many scripts do.
n=$(pgrep -cx once_only.sh)
m=$(pidof -x once_only.sh | wc -w)
[ "$n" -le 1 ] && [ "$m" -le 1 ] && echo "alone" || echo "another one runs ($n by pgrep, $m by pidof)"
