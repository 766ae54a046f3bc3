#compdef sfstat
# zsh completion of sfstat: source <(sfstat completion zsh)
_sfstat() {
  local line
  local -a described
  while IFS= read -r line; do
    described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done < <("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( ${#described} )); then
    _describe 'sfstat' described
  else
    _files
  fi
}
if [[ "${funcstack[1]}" = "_sfstat" ]]; then
  _sfstat "$@"
else
  compdef _sfstat sfstat
fi
