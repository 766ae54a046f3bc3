# bash completion of sfstat: source <(sfstat completion bash)
_sfstat() {
  local cur="${COMP_WORDS[COMP_CWORD]}" word candidate
  local -a words=()
  # Bash takes "--format=js" for three words; "=" says nothing that the flag
  # before it does not.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == "=" ]] || words+=("$word")
  done
  [[ $cur == "=" ]] && cur=""
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    COMPREPLY+=("$candidate")
  done < <("${COMP_WORDS[0]}" __complete -- "${words[@]}" "$cur" 2>/dev/null)
}
complete -o bashdefault -o default -F _sfstat sfstat
