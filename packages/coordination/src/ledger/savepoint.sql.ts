import { sql } from '@baton/kernel/database/sql';

/** A savepoint for part of a command. A nested savepoint hides the outer one until it ends. */
export const beginPart = () => sql<object>`savepoint part`;
export const keepPart = () => sql<object>`release savepoint part`;
export const undoPart = () => sql<object>`rollback to savepoint part`;
