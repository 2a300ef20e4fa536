import { violatedConstraint } from '@baton/kernel/database/db';

/**
 * Stores a name that must be unique.
 * @param refuse refuses an existing name, including one that was stored concurrently
 */
export async function storeUnique<Row>(storing: Promise<Row>, refuse: () => never): Promise<Row> {
  try {
    return await storing;
  } catch (error) {
    if (violatedConstraint(error) === undefined) throw error;
    return refuse();
  }
}
