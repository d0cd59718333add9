package policy

// FlagsHelp describes the flags that [ParseFlags] reads, a line each.
const FlagsHelp = `  --root DIR             a folder that may be written; may be repeated
  --git-dir DIR          a git folder outside the roots that git may write
  --read-deny PATH       not to be read
  --protect on|off       protect hooks and settings in the roots; default on
  --network on|off       default off
  --allow HOST[:PORT]    the only endpoints that may be reached
  --egress-socket PATH, --egress-port N
                         the proxy that owns the list of hosts
  --backend B            auto (default), bwrap, native or landlock
  --supervise on|off     off: the landlock backend without its supervisor
  --require E            full or partial: refuse to run below it
  --caches tmp|host      where package managers keep their caches; default tmp
  --env NAME[=VALUE]     pass a variable
  --cpu-seconds N, --file-size N, --processes N, --address-space N
                         limits, sizes in bytes
  --allow-root-fs        let --root be /
  --json                 report as one line of JSON
`

// ScriptHelp describes the flags of the exec verb that choose a script.
const ScriptHelp = `  --script FILE|-        run a script, - from standard input
  --shell SHELL          what runs it; default sh
  --unlink               remove FILE once it is open
`
