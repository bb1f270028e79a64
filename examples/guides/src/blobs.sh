#!/bin/sh
# blobs.sh http://localhost:8080 photo.jpg: uploads a file with a note, and then reads the file of the note.
set -eu
notes="$1/notes.v1.Notes"
json='content-type: application/json'

# The bytes go first, to the URL of the field. The answer is {"url":"…"}, by which the call names them.
file=$(curl -sSf -X POST -T "$2" -H 'content-type: image/jpeg' "$notes/upload/file")
curl -sSf "$notes/upload" -H "$json" -d "{\"note\":\"7\",\"file\":$file}" # {"bytes":2000}

# In parts: a beginning, how much of it is there, and the rest.
file=$(head -c 1000 "$2" | curl -sSf -X POST -T - -H 'upload-complete: ?0' "$notes/upload/file")
upload="$1$(echo "$file" | cut -d '"' -f 4)"
there=$(curl -sSfI "$upload" | tr -d '\r' | sed -n 's/^upload-offset: //p')
tail -c "+$((there + 1))" "$2" | curl -sSf -X PATCH -T - "$upload" \
  -H 'content-type: application/partial-upload' -H "upload-offset: $there" -H 'upload-complete: ?1'
curl -sSf "$notes/upload" -H "$json" -d "{\"note\":\"8\",\"file\":$file}"

# An answer names its blob by its URL. A download that was cut off goes on: -C - asks for what the file has not yet.
file=$(curl -sSf "$notes/download" -H "$json" -d '{"note":"8"}')
blob="$1$(echo "$file" | sed 's/.*"url":"\([^"]*\)".*/\1/')"
head -c 700 "$2" > "$2.copy"
curl -sSf -C - -o "$2.copy" "$blob"
