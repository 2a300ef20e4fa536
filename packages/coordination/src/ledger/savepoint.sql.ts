import { sql } from '@baton/kernel/database/sql';

/** What a part of a command writes can be undone alone. One inside another hides the outer one until it ends. */
export const beginPart = () => sql<object>`savepoint part`;
export const keepPart = () => sql<object>`release savepoint part`;
export const undoPart = () => sql<object>`rollback to savepoint part`;
