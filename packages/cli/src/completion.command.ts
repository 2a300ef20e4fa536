import { Argument, type Command } from 'commander';
import { invocation } from '../../../bin/invocation.mjs';
import type { CommandContext } from './command-context.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** `baton completion SHELL`: a script that lets the shell complete commands and options. */
export function addCompletion(program: Command, { output }: CommandContext): void {
  program
    .command('completion')
    .description(`print a script that completes commands: eval "$(${invocation()} completion bash)"`)
    .addArgument(new Argument('<shell>').choices(shells))
    .action((shell: Shell) => output.line(scripts[shell](wordsOf(program))));
}

/** The possible next words of each command. */
type Words = readonly (readonly [words: string, next: readonly string[]])[];

function wordsOf(program: Command): Words {
  const found: [string, string[]][] = [];
  const visit = (command: Command, words: readonly string[]) => {
    const next = command.commands.map((child) => child.name());
    const options = command.options.map(({ long }) => long).filter((long) => long !== undefined);
    found.push([words.join(' '), [...next, ...options]]);
    for (const child of command.commands) visit(child, [...words, child.name()]);
  };
  visit(program, []);
  return found;
}

/** Names of commands and options consist of letters, digits and hyphens: they need no quotes. */
const cases = (words: Words, line: (next: string) => string) =>
  words.map(([path, next]) => `    '${path}') ${line(next.join(' '))} ;;`).join('\n');

const scripts: Record<Shell, (words: Words) => string> = {
  bash: (words) => `_baton() {
  local path='' word next=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || path="\${path:+$path }$word"
  done
  case $path in
${cases(words, (next) => `next='${next}'`)}
  esac
  COMPREPLY=($(compgen -W "$next" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _baton baton`,
  zsh: (words) => `#compdef baton
_baton() {
  local path='' word
  local -a next
  for word in "\${words[@]:1:CURRENT-2}"; do
    [[ $word == -* ]] || path="\${path:+$path }$word"
  done
  case $path in
${cases(words, (next) => `next=(${next})`)}
  esac
  compadd -- $next
}
compdef _baton baton`,
  fish: (words) =>
    words
      .map(
        ([path, next]) =>
          `complete -c baton -f -n 'test (string join " " (string match -v -- "-*" (commandline -opc)[2..])) = "${path}"' -a '${next.join(' ')}'`,
      )
      .join('\n'),
};
