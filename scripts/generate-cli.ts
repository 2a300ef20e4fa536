import {
  buildProgram,
  commonOptionNames,
  formatCommand,
  listLeafCommands,
  otherPrograms,
} from '@baton/cli/program';
import type { GeneratedFile } from './generated-file.ts';
import { code, pageStart, tableOf } from './markdown.ts';

const intro = `\`npx baton COMMAND\` runs a command; \`npx baton COMMAND --help\` prints a part of this page. At a terminal, characters that move
its cursor are printed as escapes, also in JSON. A shell completes commands after \`eval "$(npx baton completion bash)"\`.

## Where npx baton works

In a checkout, and in the folder where npm installed Baton (or below it). Anywhere else npm would download the package \`baton\` of its
registry, **which is not this one**. There, run the program by its path: \`node /path/to/baton/bin/baton.mjs COMMAND\` with a checkout, or
\`node /path/to/folder/node_modules/@baton/baton/bin/baton.mjs COMMAND\`. Messages of the commands name whichever works where they are read.
The data of an installed Baton is found only in the folder where it was started: anywhere else, set \`BATON_HOME\` to its \`.baton\` as well.

## Account of a command

Explicit settings take precedence, in this order. \`npx baton whoami\` prints which of these applies:

1. \`--profile NAME\`, or \`--connection FILE\`. A profile that does not exist is an error.
2. \`BATON_URL\` with \`BATON_TOKEN\` (\`BATON_TOKEN\` alone: at the Baton of this machine) or, without a token, with the
   [identity of a CI job or pod](workload-identity/README.md); then \`BATON_PROFILE\`.
3. The profile in use: \`npx baton login\` creates one and uses it, \`npx baton context NAME\` uses another.
4. The Baton of this machine, as its administrator: that of \`BATON_HOME\`, or otherwise of \`.baton\` in this folder or checkout.

\`--url\` names another address; the administrator's token of this machine is sent to this machine only. A file
\`.baton/connection.json\` in the current folder is used only if it belongs to you, nobody else can read it, and, with \`BATON_TOKEN\` alone,
it names this machine. For any other file, a command prompts at a terminal, and fails elsewhere.

## Names in place of ids

A command accepts a principal by its name, its e-mail address or \`me\`, a workspace, role or goal by its slug, name or title, a project
by its workspace, and a rule or task type by its key. \`--assignee none\` unassigns a task; to select a principal with that name, use its
id. A name is a whole name or one word of it. If several match, the command lists them and does nothing. Except for principals, a whole name
takes precedence over a word: \`Maria\` matches both Maria and Maria Lopez, because principals can choose their name.

## JSON, and exit codes

\`--json\` prints all of a result, and \`--json a,b\` these fields of it. For a list, \`--json\` prints a page, \`{"items":[...]}\`, and \`--json a,b\`
an array, \`[...]\`. \`--jq\` filters what the command would print with the same \`--json\`: \`--jq '.items[].title'\`, or
\`--json title --jq '.[].title'\`. Fields and filter are validated before anything is sent. If a filter fails on the result of a command that
has changed something, the error reports it and shows the result.

| Exit code | Meaning |
|---|---|
| 0 | done |
| 1 | it failed, or Baton rejected it: standard error has the code, the request and what to do |
| 2 | usage error |
| 4 | not signed in, or the token is invalid |`;

/** Writes the reference of the command line. */
export function writeCli(): GeneratedFile {
  const program = buildProgram({
    config: { home: undefined, environment: {} },
    output: { line: () => undefined, progress: () => undefined, isTerminal: false, columns: 80 },
  });
  const programs = otherPrograms.map(([command, sentence]) => [code(`baton ${command}`), sentence]);
  const names = new Set(otherPrograms.map(([command]) => command.split(' <')[0]));
  const commands = listLeafCommands(program).filter(
    (leaf) => !names.has(formatCommand(leaf).replace(/ [A-Z]+$/, '')),
  );
  const common = commands.find((command) => optionsOf(command, true).length > 0);
  const sections = [
    `\n## Options of all commands\n\nThey may also precede the command: \`npx baton --profile work task list\`.\n\n${common === undefined ? '' : optionTable(optionsOf(common, true))}`,
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
  return `\n## baton ${formatCommand(command)}\n\n${sentenceOf(command.description())}\n${table}`;
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
