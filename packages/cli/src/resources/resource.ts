import type { Command } from 'commander';
import type { BatonClient } from '@baton/sdk';
import type { Access } from '../access.ts';
import type { DeclaredResult, ResultForm } from '../result-form.ts';

/** One column of a list: its header and its content. */
export type Column = readonly [header: string, cell: (item: Item) => unknown];

/** An object of the service; a table declares only the fields that it shows. */
export type Item = Readonly<Record<string, unknown>>;

/** Columns for a type's fields: a missing field is a compile error. */
export function defineColumns<Type>(
  ...columns: readonly (readonly [header: string, name: keyof Type & string])[]
): Column[] {
  return columns.map(([header, name]) => [header, (item: Item) => item[name]]);
}

/** The context of a command in the table. */
export interface Called {
  readonly baton: BatonClient;
  readonly access: Access;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly args: readonly string[];
  /** The options, by their names in Commander. */
  readonly options: Readonly<Record<string, string | number | boolean | undefined>>;
}

/** Resolves a name to an id. */
export type Find = (baton: BatonClient, text: string) => Promise<string>;

export interface ListSpec {
  readonly columns: readonly Column[];
  /** The operation whose items the command prints, or the form in which it prints them. */
  readonly operation: string | ResultForm;
  /**
   * Options that become members of the query: `--status <status>` becomes `status`. `find` resolves a name to an id.
   */
  readonly filters: readonly (readonly [flags: string, description: string, find?: Find])[];
  call(called: Called, query: Readonly<Record<string, unknown>>): AsyncIterable<unknown>;
}

export interface ActSpec {
  /** For example `approve <id>`. */
  readonly usage: string;
  readonly summary: string;
  readonly result: DeclaredResult;
  readonly options?: readonly (readonly [
    flags: string,
    description: string,
    parse?: (text: string) => unknown,
  ])[];
  call(called: Called): Promise<unknown>;
  /** The message shown to people afterwards. */
  says(value: Item): string;
}

/** The commands for one kind of object. */
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

/** Adds one command; the caller sets its action. */
export type Adder = (parent: Command, usage: string, summary: string) => Command;
