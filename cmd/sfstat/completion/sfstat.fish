# fish completion of sfstat: sfstat completion fish > ~/.config/fish/completions/sfstat.fish
function __sfstat_candidates
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] __complete -- $words[2..] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c sfstat -f -a '(__sfstat_candidates)'
