import { join } from 'node:path';

/** The directory of coordination's migrations: numbered, forward-only SQL. */
export const migrationsDirectory = join(import.meta.dirname, '../../migrations');
