#!/usr/bin/env node
// The command `baton`: npx baton start, npx baton demo, npx baton --help.
import { runFile } from './foreground.mjs';
import { programFile, say } from './prepare.mjs';

/**
 * The parts that are separate programs; every other command belongs to the command line in packages/cli. A program with
 * `settings` takes no arguments, and must not start for `--help`.
 */
const programs = [
  { word: 'start', file: 'packages/platform/src/start.main', settings: 'PORT, HOST, BATON_HOME' },
  { word: 'env', file: 'packages/platform/src/env.main', settings: 'BATON_HOME' },
  { word: 'backup', file: 'packages/platform/src/backup.main' },
  { word: 'restore', file: 'packages/platform/src/restore.main' },
  { word: 'identity', file: 'packages/identity/src/app/main' },
  { word: 'coordination', file: 'packages/coordination/src/app/main' },
  { word: 'worker', file: 'packages/coordination/src/app/worker.main', settings: 'CP_*' },
  {
    word: 'context-adapter',
    file: 'packages/coordination/src/app/context-adapter/context-adapter.main',
    settings: 'CP_*',
  },
  {
    word: 'console serve',
    file: 'packages/platform/src/console-service.main',
    settings: 'BATON_COORDINATION_URL, PORT, HOST, BATON_CONSOLE_*',
  },
  { word: 'agent run', file: 'packages/runner/src/main' },
  { word: 'mcp', file: 'packages/mcp/src/main' },
];

const args = process.argv.slice(2);
const program = programs.find(({ word }) => word === args.slice(0, word.split(' ').length).join(' '));
const wordsOfProgram = program?.word.split(' ').length ?? 0;
const file = program?.file ?? 'packages/cli/src/main';
if (program?.settings !== undefined && args.length > wordsOfProgram) {
  say(
    `Usage: baton ${program.word}, without further words; it reads ${program.settings} from the environment (docs/configuration.md).`,
  );
  process.exitCode = ['--help', '-h'].includes(args[wordsOfProgram]) ? 0 : 2;
} else {
  await runFile(programFile(file), args.slice(wordsOfProgram));
}
