# zipped.sh RUN PYTHON NAME: the program as a zipapp
mkdir app && cp "$3.py" app/__main__.py && touch -d @1577836800 app/__main__.py
"$2" -S -m zipapp app -o app.pyz
$1 "$2" app.pyz
status=$?
rm -rf app app.pyz
exit $status
