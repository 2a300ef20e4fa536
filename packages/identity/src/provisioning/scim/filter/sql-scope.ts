import type { ResourceKind } from '../protocol/attributes.ts';

/** The values of a statement whose text is built per request: `$1`, `$2`, … */
export class SqlValues {
  readonly values: unknown[] = [];

  /** @returns the placeholder of the value in the text */
  add(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/** The statement that a filter becomes part of. It reads rows `r` of scim_users or scim_groups. */
export interface Scope {
  readonly kind: ResourceKind;
  /** All kinds that the request searches. An attribute that this kind lacks, but another one has, counts as absent. */
  readonly searched: readonly ResourceKind[];
  readonly values: SqlValues;
  /** The base address of the resources. */
  readonly base: string;
  /** The parameter with the id of the source. */
  readonly source: string;
}
