import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findSqlParts, findSqlTemplates } from './sql-templates.ts';

function templatesOf(source: string) {
  return findSqlTemplates(source, findSqlParts(source)).flatMap(({ name, templates }) =>
    templates.map(({ text, row, line }) => ({
      name,
      text,
      line,
      row: row && source.slice(row.start, row.end),
    })),
  );
}

test('a statement has its parameters in order, its row and its line', () => {
  const source = `// sql\`no\`
export function findTask(id: string) {
  return sql<Pick<TaskRow, 'id'> & { at: string }>\`select id, now() as at
    from tasks where id = \${id} and n = \${count({ of: [\`a\${id}\`] })}\`;
}`;
  assert.deepEqual(templatesOf(source), [
    {
      name: 'findTask',
      text: 'select id, now() as at\n    from tasks where id = $1 and n = $2',
      line: 3,
      row: "Pick<TaskRow, 'id'> & { at: string }",
    },
  ]);
});

test('a statement has the texts of its parts, and of theirs', () => {
  const source = `const isOf = (id) => part\`tenant_id = \${id}\`;
export function isOpen(id) {
  return part\`status = \${open} and \${isOf(id)}\`;
}
export const find = (id) => sql\`select \${id}, id from tasks where \${isOpen(id)} limit \${rowsMax}\`;`;
  assert.deepEqual(
    templatesOf(source).map(({ name, text }) => [name, text]),
    [['find', 'select $1, id from tasks where status = $2 and tenant_id = $3 limit $4']],
  );
});

test('escapes in a statement are evaluated as in JavaScript', () => {
  const [found] = templatesOf("const a = sql`select e'\\\\n', '\\n', '\\``;");
  assert.equal(found?.text, "select e'\\n', '\n', '`");
});

test('texts, comments and regular expressions are not statements', () => {
  const source = "const a = 'sql`x`'; /* sql`y` */ const b = /[`'/]/; const c = x / 2; const d = mysql`z`;";
  assert.deepEqual(templatesOf(source), []);
});

test('a statement belongs to the declaration that contains it', () => {
  const source =
    'export const one = () => sql`select 1`;\nfunction two() {\n  return a ? sql`select 2` : sql`select 3`;\n}\n';
  assert.deepEqual(
    templatesOf(source).map(({ name, text }) => [name, text]),
    [
      ['one', 'select 1'],
      ['two', 'select 2'],
      ['two', 'select 3'],
    ],
  );
});
