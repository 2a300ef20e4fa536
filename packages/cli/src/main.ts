import { readConfig } from './config.ts';
import { consoleOutput } from './console-output.ts';
import { runProgram } from './program.ts';

process.exitCode = await runProgram(process.argv.slice(2), {
  config: readConfig(),
  output: consoleOutput(),
});
