import { Command, CommanderError } from 'commander';
import { BatonError } from '@baton/sdk';
import { invocation } from '../../../bin/invocation.mjs';
import { addApi } from './api/api.command.ts';
import { addApply } from './apply/apply.command.ts';
import { addApproval } from './approvals/approval.command.ts';
import type { CommandContext } from './command-context.ts';
import { addCompletion } from './completion.command.ts';
import { hasTerminal, promptYes } from './confirm.ts';
import { addAgentConnect } from './connect/agent-connect.command.ts';
import { ForeignConnection } from './connection.ts';
import { addConsole } from './console.command.ts';
import { OutputClosed } from './console-output.ts';
import { addDemo } from './demo/demo.command.ts';
import { addDoctor } from './doctor.command.ts';
import { describeError, docsHintFor, exitCodeFor, exitCodes } from './error-text.ts';
import { addEventTail } from './events/event-tail.command.ts';
import { addEvents } from './events/events.command.ts';
import { addExport } from './export/export.command.ts';
import { addFieldsHelp, descendants, groupCommands, helpConfiguration } from './help.ts';
import { addImport } from './import/import.command.ts';
import { applyLeadingOptions, splitArgs } from './leading-options.ts';
import { withPresentName } from './old-names.ts';
import { addOperations } from './operations/operations.command.ts';
import { addInvite } from './people/invite.command.ts';
import { peopleResource } from './people/people-resource.ts';
import { PlainError } from './plain-error.ts';
import { accessResource, accessRoleResource } from './resources/access.ts';
import { addResource } from './resources/resource.command.ts';
import { resources } from './resources/resources.ts';
import { requireShowable } from './result-form.ts';
import { addSignIn } from './sign-in/login.command.ts';
import { addStatus } from './status.command.ts';
import { addTask } from './tasks/task.command.ts';
import { terminalText } from './terminal-text.ts';
import { version } from './version.ts';
import { addWhoami } from './whoami.command.ts';
import { addWork } from './work/work.command.ts';

/** Separate programs, which bin/baton.mjs runs itself; here they are only listed in the help. */
export const otherPrograms: readonly [command: string, sentence: string][] = [
  ['start', 'start everything on this machine: PostgreSQL, both services and the worker, on one port'],
  ['env', 'print the connection settings as shell exports'],
  ['backup <file>', 'write this whole Baton into one file, running or stopped'],
  ['restore <file>', 'restore the state of a backup; --replace moves the existing data away'],
  ['identity serve', 'run the identity service alone (settings IAM_*)'],
  ['coordination serve', 'run the coordination service alone (settings CP_*)'],
  ['worker', 'run the worker alone: expired leases, deliveries, timers'],
  ['console serve', 'run the console alone, for services that run elsewhere'],
  ['context-adapter', 'deliver the journal to a memory service'],
  ['agent run', 'take tasks and run a command for each'],
  ['mcp', 'serve agents that speak MCP, over standard input and output'],
];

export { commonOptionNames } from './command-context.ts';
export { formatCommand, listLeafCommands } from './help.ts';

/** The command `baton` with its subcommands. */
export function buildProgram(context: CommandContext): Command {
  const program = new Command('baton')
    .description('Baton: coordinate the work of people, AI agents and services without conflicts.')
    .version(version, '--version', 'print the version')
    .helpCommand(false)
    // The subcommands of commands such as `invite` have options with the same names as those of the command.
    .enablePositionalOptions()
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.output.line(text.trimEnd()),
      outputError: () => undefined,
    })
    .configureHelp(helpConfiguration);
  addDemo(program, context);
  addConsole(program, context);
  addStatus(program, context);
  addWhoami(program, context);
  addSignIn(program, context);
  addDoctor(program, context);
  addTask(program, context);
  addWork(program, context);
  for (const resource of resources) addResource(program, resource, context);
  addResource(addResource(program, accessResource, context), accessRoleResource, context);
  addAgentConnect(program, context);
  addResource(program, peopleResource, context);
  addInvite(program, context);
  addApproval(program, context);
  addApply(program, context);
  addImport(program, context);
  addExport(program, context);
  addEvents(program, context);
  addEventTail(program, context);
  addOperations(program, context);
  addApi(program, context);
  addCompletion(program, context);
  for (const [command, sentence] of otherPrograms) addOther(program, command, sentence);
  groupCommands(program);
  addFieldsHelp(program);
  for (const command of descendants(program)) command.exitOverride().copyInheritedSettings(program);
  return program.addHelpText(
    'after',
    `\n${invocation()} COMMAND --help describes a command, for example ${invocation()} task --help. All commands except long-running ones accept --json and --jq. Common options may precede the command.\nExit codes: 0 done, 1 failed, 2 usage error, 4 not signed in.`,
  );
}

/**
 * Runs one command line.
 * @returns the exit code: 0; 1 if the command failed or a service rejected it; 2 for a usage error; 4 without a sign-in
 */
export async function runProgram(args: readonly string[], context: CommandContext): Promise<number> {
  const program = buildProgram(context);
  const { leading, rest } = splitArgs(args, program);
  program.hook('preAction', (_program, command) => {
    applyLeadingOptions(command, leading);
    return requireShowable(command);
  });
  try {
    requireOwnCommand(leading, rest);
    await program.parseAsync(rest.length === 0 ? ['--help'] : withPresentName(rest), { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof OutputClosed) return 0;
    if (error instanceof CommanderError) return exitCodeOf(error, namedCommand(program, rest), context);
    if (error instanceof ForeignConnection && hasTerminal(context.output))
      return runIfAgreed(args, context, error);
    if (error instanceof BatonError) {
      const lines = [describeError(error), docsHintFor(error)].filter((line) => line !== undefined);
      context.output.progress(`${terminalText(lines.join('\n'))}\n`);
      return exitCodeFor(error);
    }
    if (!(error instanceof PlainError)) throw error;
    context.output.progress(`${terminalText(error.message)}\n`);
    return error.exitCode;
  }
}

/**
 * bin/baton.mjs runs other programs only if their names are the first arguments. @throws PlainError if options precede
 * one
 */
function requireOwnCommand(leading: readonly string[], rest: readonly string[]): void {
  const names = otherPrograms.map(([command]) => command.replace(/ <.*/, ''));
  const other = names.find((name) => `${rest.join(' ')} `.startsWith(`${name} `));
  if (leading.length > 0 && other !== undefined)
    throw new PlainError(
      `${String(leading[0])} can't precede ${other}: see ${invocation()} ${other} --help.`,
      {
        exitCode: exitCodes.usage,
      },
    );
}

/**
 * Every command looks up the connection file before it does anything, so it can be run again from the start once the
 * user has agreed.
 */
async function runIfAgreed(
  args: readonly string[],
  context: CommandContext,
  { message, path, exitCode }: ForeignConnection,
): Promise<number> {
  context.output.progress(`${terminalText(message)}\n`);
  if (!(await promptYes('Use it once?'))) return exitCode;
  return runProgram(args, { ...context, config: { ...context.config, agreed: path } });
}

/** Prints a usage error as one sentence. Commander reports help in the same way, but has already printed it. */
function exitCodeOf(
  { code, exitCode, message }: CommanderError,
  command: string,
  { output }: CommandContext,
): number {
  if (exitCode === 0) return 0;
  if (code !== 'commander.help') {
    const text = message
      .replace(/^error: /, '')
      .replaceAll('\n', ' ')
      .replace(/\.$/, '');
    output.progress(
      terminalText(
        `${text.charAt(0).toUpperCase()}${text.slice(1)}: see ${invocation()}${command} --help.\n`,
      ),
    );
  }
  return exitCodes.usage;
}

/** The words of the command in a command line, each preceded by a space. */
function namedCommand(program: Command, args: readonly string[]): string {
  let words = '';
  let command: Command = program;
  for (const word of args) {
    const next = command.commands.find((known) => known.name() === word);
    if (next === undefined) break;
    words += ` ${word}`;
    command = next;
  }
  return words;
}

function addOther(program: Command, command: string, sentence: string): void {
  const [first = '', second] = command.split(' ');
  const isGroup = second !== undefined && !second.startsWith('<');
  const group = program.commands.find((known) => known.name() === first);
  const parent = isGroup ? (group ?? program.command(first).description(sentence)) : program;
  parent.command(isGroup ? second : command).description(sentence);
}
