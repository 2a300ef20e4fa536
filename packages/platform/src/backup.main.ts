// baton backup FILE: writes all data of this Baton to one file, whether it is running or not.
import { backUp } from './backup/backup.ts';
import { runWithFile } from './backup/command.ts';

await runWithFile('Usage: baton backup FILE', [], ({ file, ...rest }) => backUp({ ...rest, file }));
