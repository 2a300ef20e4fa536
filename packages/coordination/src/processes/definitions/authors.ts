import { findBlindViewersOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { findNarrowVersions, type NarrowVersionRow } from './definitions.sql.ts';

/** Versions of processes. */
export interface Versions {
  readonly keys: readonly string[];
  readonly versions: readonly number[];
}

const none: Versions = { keys: [], versions: [] };

/**
 * What the authors of processes may see (docs/reference/README.md#visibility). A process acts as an agent, and agents
 * see everything; data that the author may not see must not reach instances that the author can read. Visibility is
 * read once per author, so create one object per turn.
 */
export class SightOfAuthors {
  readonly #context: Context;
  readonly #blind = new Map<string, Promise<Versions>>();
  #narrow: Promise<NarrowVersionRow[]> | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** The versions whose authors don't see objects in a workspace; null is the tenant itself. */
  async findBlindViewersOf(workspaceId: string | null): Promise<Versions> {
    if (workspaceId === null) return none;
    const known = this.#blind.get(workspaceId) ?? this.#read(workspaceId);
    this.#blind.set(workspaceId, known);
    return known;
  }

  async #read(workspaceId: string): Promise<Versions> {
    const { db, tenantId } = this.#context;
    this.#narrow ??= db.rows(findNarrowVersions(tenantId));
    const narrow = await this.#narrow;
    const authors = [...new Set(narrow.map((row) => row.created_by))];
    const blind = await findBlindViewersOf(db, authors, workspaceId);
    const rows = narrow.filter((row) => blind.has(row.created_by));
    return { keys: rows.map(({ key }) => key), versions: rows.map(({ version }) => version) };
  }
}
