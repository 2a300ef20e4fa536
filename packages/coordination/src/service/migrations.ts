import { join } from 'node:path';

/** Where the schema of coordination lies, as numbered, forward-only SQL. */
export const migrationsDirectory = join(import.meta.dirname, '../../migrations');
