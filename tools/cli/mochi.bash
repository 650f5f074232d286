# Bash completion of mochi(1): asks the program for the possible next words.

_mochi() {
    local current=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[@]:1:COMP_CWORD-1}")
    [ "${words[0]}" = help ] && words=("${words[@]:1}")
    mapfile -t COMPREPLY < <(compgen -W "$(mochi --complete "${words[@]}" 2>/dev/null)" -- "$current")
    ((${#COMPREPLY[@]})) || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

complete -o filenames -F _mochi mochi
