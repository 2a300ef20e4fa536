import type { Command, HelpConfiguration } from 'commander';
import { anyResult, declaredResult, listFieldNames } from './result-form.ts';

/** The groups that newcomers need are listed first; each top-level command is in one of them. */
const helpGroups: readonly (readonly [heading: string, names: readonly string[]])[] = [
  ['Begin:', ['start', 'console', 'demo', 'login', 'logout', 'context', 'status', 'whoami', 'doctor']],
  ['Work:', ['task', 'work', 'approval', 'artifact', 'goal']],
  ['See what happens:', ['event', 'events', 'session', 'claim', 'run', 'process']],
  [
    'Who, where and how:',
    [
      'people',
      'invite',
      'access',
      'principal',
      'role',
      'skill',
      'agent',
      'workspace',
      'project',
      'task-type',
      'rule',
    ],
  ],
  ['In and out:', ['import', 'export', 'apply', 'api', 'env', 'completion']],
  ['Agents:', ['mcp']],
  [
    'Operate:',
    [
      'directory',
      'token',
      'workload',
      'operations',
      'backup',
      'restore',
      'identity',
      'coordination',
      'worker',
      'context-adapter',
    ],
  ],
];

/** The first page lists nouns with their verbs; the help of a noun lists its commands with their arguments. */
export const helpConfiguration: HelpConfiguration = {
  visibleCommands: (command) => (command.parent === null ? [...command.commands] : listLeafCommands(command)),
  subcommandTerm: formatCommand,
  subcommandDescription: (command) =>
    command.parent?.parent === null && command.commands.length > 0
      ? `${command.description()}: ${verbsOf(command)}`
      : command.description(),
  showGlobalOptions: false,
};

/** Groups the top-level commands under their headings, in order. */
export function groupCommands(program: Command): void {
  for (const [heading, names] of helpGroups)
    for (const command of program.commands) if (names.includes(command.name())) command.helpGroup(heading);
  const order = helpGroups.flatMap(([, names]) => names);
  // Commander shows headings in the order of the commands, so the commands are sorted.
  (program.commands as Command[]).sort((a, b) => order.indexOf(a.name()) - order.indexOf(b.name()));
}

/** A command's help ends with the fields that `--json` accepts. */
export function addFieldsHelp(program: Command): void {
  for (const command of descendants(program)) {
    const result = declaredResult(command);
    if (result !== undefined && result !== anyResult)
      command.addHelpText('after', () => `\nFields for --json: ${listFieldNames(result).join(', ')}`);
  }
}

function verbsOf(command: Command): string {
  return command.commands
    .map((child) => (child.commands.length > 0 ? `${child.name()} …` : child.name()))
    .join(', ');
}

export function descendants(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...descendants(child)]);
}

/**
 * The executable commands below this one. A group of commands takes no options, unless it is a command too (`demo`).
 */
export function listLeafCommands(command: Command): Command[] {
  return descendants(command).filter(({ commands, options }) => commands.length === 0 || options.length > 0);
}

/** A command as typed after `baton`, its arguments in capitals. */
export function formatCommand(command: Command): string {
  const groups: string[] = [];
  for (let at = command.parent; at?.parent; at = at.parent) groups.unshift(at.name());
  const args = command.registeredArguments.map((argument) => argument.name().toUpperCase());
  return [...groups, command.name(), ...args].join(' ');
}
