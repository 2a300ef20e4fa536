import type { Command } from 'commander';
import type { BatonClient } from '@baton/sdk';
import type { Access } from '../access.ts';
import type { DeclaredResult } from '../result-form.ts';

/** One column of a list: its header and what stands in it. */
export type Column = readonly [header: string, cell: (item: Item) => unknown];

/** What the service answers; a table names only what it shows. */
export type Item = Readonly<Record<string, unknown>>;

/** Columns that show fields of a type: a field that it has not is a fault of the compiler. */
export function columnsOf<Type>(
  ...columns: readonly (readonly [header: string, name: keyof Type & string])[]
): Column[] {
  return columns.map(([header, name]) => [header, (item: Item) => item[name]]);
}

/** What a command of the table works with. */
export interface Called {
  readonly baton: BatonClient;
  readonly access: Access;
  readonly args: readonly string[];
  /** The options by their names, as commander reads them. */
  readonly options: Readonly<Record<string, string | number | boolean | undefined>>;
}

/** Finds the id of what a person names. */
export type Find = (baton: BatonClient, text: string) => Promise<string>;

export interface ListSpec {
  readonly columns: readonly Column[];
  /** The operation whose items it prints. */
  readonly operation: string;
  /** Options that are members of the query: `--status <status>` is `status`. The third finds the id of what is named. */
  readonly filters: readonly (readonly [flags: string, description: string, find?: Find])[];
  call(called: Called, query: Readonly<Record<string, unknown>>): AsyncIterable<unknown>;
}

export interface ActSpec {
  /** As `approve <id>`. */
  readonly usage: string;
  readonly summary: string;
  readonly result: DeclaredResult;
  readonly options?: readonly (readonly [
    flags: string,
    description: string,
    parse?: (text: string) => unknown,
  ])[];
  call(called: Called): Promise<unknown>;
  /** What people read afterwards. */
  says(value: Item): string;
}

/** The commands about one kind of thing. */
export interface Resource {
  readonly noun: string;
  readonly summary: string;
  readonly list?: ListSpec;
  readonly view?: {
    readonly argument: string;
    /** The operation whose response it prints. */
    readonly operation: string;
    call(called: Called): Promise<unknown>;
  };
  readonly acts?: readonly ActSpec[];
}

/** Adds one command; whoever calls it gives it its action. */
export type Adder = (parent: Command, usage: string, summary: string) => Command;
