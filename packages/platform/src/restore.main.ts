// baton restore FILE: makes this Baton's folder what it was when the backup was taken.
import { runWithFile } from './backup/command.ts';
import { restore } from './backup/restore.ts';

await runWithFile('Usage: baton restore FILE [--replace]', ['--replace'], ({ options, ...rest }) =>
  restore({ ...rest, replace: options.has('--replace') }),
);
