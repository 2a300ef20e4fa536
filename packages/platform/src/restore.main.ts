// baton restore FILE: restores Baton's folder from a backup.
import { runWithFile } from './backup/command.ts';
import { restore } from './backup/restore.ts';

await runWithFile('Usage: baton restore FILE [--replace]', ['--replace'], ({ options, ...rest }) =>
  restore({ ...rest, replace: options.has('--replace') }),
);
