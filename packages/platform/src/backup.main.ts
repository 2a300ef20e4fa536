// baton backup FILE: all of this Baton in one file, while it runs or not.
import { backUp } from './backup/backup.ts';
import { runWithFile } from './backup/command.ts';

await runWithFile('Usage: baton backup FILE', [], ({ file, ...rest }) => backUp({ ...rest, file }));
