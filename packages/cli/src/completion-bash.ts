/**
 * Completion script for bash 3.2 and later. It splits the line itself, because bash also splits words at colons, which
 * URLs contain. It never evaluates typed text.
 */
export const BASH_COMPLETION = `# bash completion for quicrpc

__quicrpc_complete() {
    local line=\${COMP_LINE:0:COMP_POINT} cur="" value last
    local -a words
    read -r -a words <<< "$line"
    if [[ $line == *[![:space:]] ]]; then
        cur=\${words[\${#words[@]} - 1]}
    else
        words[\${#words[@]}]=""
    fi
    # What bash replaces begins behind the last character that breaks words.
    last=\${cur##*[:=]}
    COMPREPLY=()
    while IFS=$'\\t' read -r value _; do
        if [[ $value == "$cur"* && $value != :* ]]; then
            COMPREPLY[\${#COMPREPLY[@]}]=\${value#"\${cur%"$last"}"}
        fi
    done < <(quicrpc complete -- "\${words[@]:1}" 2>/dev/null)
}

complete -o default -F __quicrpc_complete quicrpc
`;
