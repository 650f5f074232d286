# Bash completion of mochi(1): commands, options, graphs and ops, as the program itself names them.

_mochi_words() {
    case $1 in
        '') mochi --help 2>/dev/null | sed -n 's/^  \([a-z-]\+\)  .*/\1/p' ;;
        *) mochi "$@" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*' | sort -u ;;
    esac
}

# The heads, as the line names them that answers a name which is none.
_mochi_heads() { mochi gradcheck --head '?' 2>&1 | sed -n 's/.*there are \(.*\), or FILE.so$/\1/p' | tr -d ,; }

_mochi() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$(_mochi_words '') help --help --version" -- "$current")
        return
    fi
    [ "$before" = = ] && before=${COMP_WORDS[COMP_CWORD - 2]}
    case $command:$before:$current in
        help:help:*) mapfile -t COMPREPLY < <(compgen -W "$(_mochi_words '')" -- "$current") ;;
        data:*:-*) mapfile -t COMPREPLY < <(compgen -W "$(_mochi_words data "${COMP_WORDS[2]}")" -- "$current") ;;
        *:*:-*) mapfile -t COMPREPLY < <(compgen -W "$(_mochi_words "$command")" -- "$current") ;;
        *:--pool:*)
            mapfile -t COMPREPLY < <(compgen -f -W "paper paper-offline $(mochi data list 2>/dev/null | cut -d' ' -f1)" -- "$current") ;;
        *:--suite:*) mapfile -t COMPREPLY < <(compgen -f -W 'paper paper-offline' -- "$current") ;;
        *:--data:* | data:info:* | data:convert:*)
            mapfile -t COMPREPLY < <(compgen -W "$(mochi data list 2>/dev/null | cut -d' ' -f1)" -- "$current") ;;
        data:get:* | data:verify:*)
            mapfile -t COMPREPLY < <(compgen -W "$(mochi data list --all 2>/dev/null | cut -d' ' -f1)" -- "$current") ;;
        *:--device:*) mapfile -t COMPREPLY < <(compgen -W 'cpu cuda cuda:1' -- "$current") ;;
        *:--math:*) mapfile -t COMPREPLY < <(compgen -W 'fp32 tf32 bf16' -- "$current") ;;
        *:--features:*) mapfile -t COMPREPLY < <(compgen -W 'device host disk' -- "$current") ;;
        *:--stack:*) mapfile -t COMPREPLY < <(compgen -W 'float32 float16' -- "$current") ;;
        *:--hop-activation:*) mapfile -t COMPREPLY < <(compgen -W 'none relu' -- "$current") ;;
        *:--feature-norm:*) mapfile -t COMPREPLY < <(compgen -W 'none layer' -- "$current") ;;
        *:--combine:*) mapfile -t COMPREPLY < <(compgen -W 'concat sum' -- "$current") ;;
        eval:--protocol:*) mapfile -t COMPREPLY < <(compgen -W 'split episode public' -- "$current") ;;
        *:--metric:*)
            mapfile -t COMPREPLY < <(compgen -W 'accuracy nll ece auc ap mrr hits_rank hits_ogb hits_pooled' -- "$current") ;;
        *:--weights:*) mapfile -t COMPREPLY < <(compgen -f -W 'best random none' -- "$current") ;;
        *:--recipe:*) mapfile -t COMPREPLY < <(compgen -W 'best paper paper++ released' -- "$current") ;;
        fit:--confusion:*) mapfile -t COMPREPLY < <(compgen -W "$(_mochi_heads)" -- "$current") ;;
        fit:--head:*) mapfile -t COMPREPLY < <(compgen -f -W "$(_mochi_heads) all" -- "$current") ;;
        *:--head:*) mapfile -t COMPREPLY < <(compgen -f -W "$(_mochi_heads)" -- "$current") ;;
        new:new:*) mapfile -t COMPREPLY < <(compgen -W 'head encoder' -- "$current") ;;
        graph:graph:*)
            mapfile -t COMPREPLY < <(compgen -W 'nc lp gc' -- "$current") ;;
        *:--task:*) mapfile -t COMPREPLY < <(compgen -W 'nc lp gc' -- "$current") ;;
        *:--tune:*) mapfile -t COMPREPLY < <(compgen -W 'loo' -- "$current") ;;
        explain:explain:*)
            mapfile -t COMPREPLY < <(compgen -W "$(mochi explain 2>/dev/null | cut -d' ' -f1)" -- "$current") ;;
        data:data:*) mapfile -t COMPREPLY < <(compgen -W 'list info get verify convert cache' -- "$current") ;;
        data:cache:*) mapfile -t COMPREPLY < <(compgen -W 'list verify prune clear build' -- "$current") ;;
        pitfalls:pitfalls:*) mapfile -t COMPREPLY < <(compgen -W 'origin hull calibration all cone' -- "$current") ;;
        lab:lab:*) mapfile -t COMPREPLY < <(compgen -W 'adjoint conditioning truncation differences checkpointing' -- "$current") ;;
        lab:--problem:*) mapfile -t COMPREPLY < <(compgen -W 'ridge logistic root' -- "$current") ;;
        lab:--method:*)
            mapfile -t COMPREPLY < <(compgen -W 'analytic unrolled implicit neumann' -- "$current") ;;
    esac
    ((${#COMPREPLY[@]})) || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

complete -o filenames -F _mochi mochi
