import { violatedConstraint } from '@baton/kernel/database/db';

/**
 * Stores a name that must be the only one of its kind.
 * @param refuse what is answered when another has it, one that was stored at the same time included
 */
export async function unlessTaken<Row>(storing: Promise<Row>, refuse: () => never): Promise<Row> {
  try {
    return await storing;
  } catch (error) {
    if (violatedConstraint(error) === undefined) throw error;
    return refuse();
  }
}
