import type { Selectable } from 'kysely';
import type { z } from 'zod';

/**
 * A row of a table as it is read, from the generated `Tables` of a service: ``RowOf<Tables['claims']>``. `Narrowed`
 * adds types that the database does not define, such as the type of a document, and may contain only columns of the
 * table.
 */
export type RowOf<
  Table,
  Narrowed extends { [Column in keyof Narrowed]: Column extends keyof Table ? unknown : never } = {},
> = Omit<Selectable<Table>, keyof Narrowed> & Narrowed;

/** `acquiredAt` is `acquired_at`. */
type ColumnOf<Name extends string, Done extends string = ''> = Name extends `${infer First}${infer Rest}`
  ? ColumnOf<Rest, `${Done}${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}`>
  : Done;

/** The fields whose column is absent or has another type; the others are optional. */
type Derived<Row, Wire> = {
  readonly [Name in keyof Wire & string as ColumnOf<Name> extends keyof Row
    ? Row[ColumnOf<Name>] extends Wire[Name]
      ? never
      : Name
    : Name]: (row: Row) => Wire[Name];
} & { readonly [Name in keyof Wire]?: (row: Row) => Wire[Name] };

/**
 * Creates the function that converts a row to its wire format: each field is the column of the same name in snake case,
 * except those that `derived` computes. A field without a column of its type, and without an entry, does not compile.
 *
 * ```ts
 * export const claimOf = wireMapper<ClaimRow>()(Claim, { claimId: (row) => row.id });
 * ```
 */
export function wireMapper<Row extends object>() {
  return <Form extends z.ZodObject>(
    form: Form,
    derived: Derived<Row, z.infer<Form>>,
  ): ((row: Row) => z.infer<Form>) => {
    const computed = derived as Readonly<Record<string, ((row: Row) => unknown) | undefined>>;
    const fields = Object.keys(form.shape).map((name) => ({
      name,
      read: computed[name] ?? readColumn<Row>(columnOf(name)),
    }));
    return (row) => {
      const wire: Record<string, unknown> = {};
      for (const { name, read } of fields) wire[name] = read(row);
      return wire as z.infer<Form>;
    };
  };
}

function readColumn<Row extends object>(column: string): (row: Row) => unknown {
  return (row) => row[column as keyof Row];
}

function columnOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
