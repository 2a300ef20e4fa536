import { buildProgram, commonOptionNames, leavesOf, otherPrograms, termOf } from '@baton/cli/program';
import type { GeneratedFile } from './generated-file.ts';
import { code, pageStart, tableOf } from './markdown.ts';

const intro = `\`npx baton COMMAND\`, in a checkout or where npm installed Baton; \`npx baton COMMAND --help\` prints a part of this page.
Commands act at the Baton that \`npx baton context\` names: one that you signed in to by \`npx baton login\`, that of BATON_URL and
BATON_TOKEN, or that of this machine. A file \`.baton/connection.json\` in the current folder is used only if it belongs to you and nobody
else can read it; for another one a command asks you at a terminal, and fails elsewhere. At a terminal, characters that would move its
cursor are printed as escapes, also in JSON. A shell completes commands after \`eval "$(npx baton completion bash)"\`.

| Exit code | |
|---|---|
| 0 | done |
| 1 | it failed, or Baton refused: standard error says the code, the request and what to do |
| 2 | the command was written wrongly |
| 4 | nobody is signed in, or the token is not valid |`;

/** The reference of the command line. */
export function writeCli(): GeneratedFile {
  const program = buildProgram({
    config: { home: undefined, environment: {} },
    output: { line: () => undefined, progress: () => undefined, isTerminal: false, columns: 80 },
  });
  const programs = otherPrograms.map(([command, sentence]) => [code(`baton ${command}`), sentence]);
  const names = new Set(otherPrograms.map(([command]) => command.split(' <')[0]));
  const commands = leavesOf(program).filter((leaf) => !names.has(termOf(leaf).replace(/ [A-Z]+$/, '')));
  const common = commands.find((command) => optionsOf(command, true).length > 0);
  const sections = [
    `\n## Options of all commands\n\n${common === undefined ? '' : optionTable(optionsOf(common, true))}`,
    ...commands.map(sectionOf),
    `\n## Programs\n\n${tableOf(['Program', 'What it does'], programs)}`,
  ];
  return {
    path: 'docs/cli.md',
    text: `${pageStart('the commands in packages/cli', 'Command line', intro)}${sections.join('')}`,
  };
}

type Command = ReturnType<typeof buildProgram>;
type Options = Command['options'];

function optionsOf(command: Command, isCommon: boolean): Options {
  return command.options.filter(({ long }) => commonOptionNames.includes(long ?? '') === isCommon);
}

function sectionOf(command: Command): string {
  const own = optionsOf(command, false);
  const table = own.length === 0 ? '' : `\n${optionTable(own)}`;
  return `\n## baton ${termOf(command)}\n\n${sentenceOf(command.description())}\n${table}`;
}

function sentenceOf(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function optionTable(options: Options): string {
  return tableOf(
    ['Option', 'What it does'],
    options.map(({ flags, description }) => [code(flags), description]),
  );
}
