import type { SubjectChange } from '@baton/sdk';
import styles from './approval.module.css';
import { differenceOf, placeOf, unhidden, valueText } from './subject-words.ts';

interface ChangesProps {
  readonly changes: readonly SubjectChange[];
  /** As `Changed since it was requested`. */
  readonly title: string;
  readonly before: string;
  readonly after: string;
}

/** Each changed value, the old one beside the new one. Words and signs mark them, not colours alone. */
export function Changes({ changes, title, before, after }: ChangesProps) {
  return (
    <section className={styles.changes} aria-label={title}>
      <p className={styles.changedTitle}>
        <span aria-hidden="true">⚠ </span>
        {title}: {changes.length === 1 ? 'one value' : `${changes.length} values`}
      </p>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">{before}</th>
            <th scope="col">{after}</th>
          </tr>
        </thead>
        <tbody>
          {changes.map((change) => (
            <Change key={JSON.stringify(change.path)} change={change} labels={[before, after]} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Change({ change, labels }: { change: SubjectChange; labels: readonly [string, string] }) {
  const [old, now] = textsOf(change);
  const difference = old === undefined || now === undefined ? undefined : differenceOf(old, now);
  const { start = '', end = '' } = difference ?? {};
  return (
    <tr>
      <th scope="row">
        <Place path={change.path} />
      </th>
      <td data-label={labels[0]}>
        <Side
          of={old}
          start={start}
          end={end}
          changed={difference?.before ?? old ?? ''}
          mark="del"
          sign="−"
          words="was"
        />
      </td>
      <td data-label={labels[1]}>
        <Side
          of={now}
          start={start}
          end={end}
          changed={difference?.after ?? now ?? ''}
          mark="ins"
          sign="+"
          words="is"
        />
      </td>
    </tr>
  );
}

/** Our word for the part of the snapshot, and the names that others gave what is in it. */
function Place({ path }: { readonly path: readonly string[] }) {
  const { part, names } = placeOf(path);
  return (
    <>
      {part}{' '}
      {names.length > 0 && (
        <span className={styles.name}>{names.map((name) => unhidden(name)).join(' › ')}</span>
      )}
    </>
  );
}

interface SideProps {
  /** Undefined where there is no such value. */
  readonly of: string | undefined;
  readonly start: string;
  readonly changed: string;
  readonly end: string;
  readonly mark: 'del' | 'ins';
  readonly sign: string;
  readonly words: string;
}

function Side({ of, start, changed, end, mark: Mark, sign, words }: SideProps) {
  if (of === undefined) return <span className="soft">nothing</span>;
  return (
    <div className={styles.side}>
      <span aria-hidden="true" className={Mark === 'del' ? styles.minus : styles.plus}>
        {sign}{' '}
      </span>
      <span className="text">
        {start !== '' && unhidden(shortStart(start), false)}
        {of === '' ? (
          <span className="soft">empty</span>
        ) : (
          changed !== '' && (
            <Mark className={styles[Mark]}>
              <span className="visually-hidden">{words} </span>
              {unhidden(changed, false)}
            </Mark>
          )
        )}
        {end !== '' && unhidden(shortEnd(end), false)}
      </span>
    </div>
  );
}

/** Both values as text; as JSON where the text alone doesn't tell them apart, as of 10 and "10". */
function textsOf({ before, after }: SubjectChange): [string | undefined, string | undefined] {
  const [old, now] = [before, after].map((value) => (value === undefined ? undefined : valueText(value)));
  return old !== undefined && old === now ? [JSON.stringify(before), JSON.stringify(after)] : [old, now];
}

/** So much of what is equal stands around a change; all of it stands in the list of what is decided. */
const equalCharactersMax = 240;

function shortStart(text: string): string {
  return text.length > equalCharactersMax ? `… ${text.slice(-equalCharactersMax)}` : text;
}

function shortEnd(text: string): string {
  return text.length > equalCharactersMax ? `${text.slice(0, equalCharactersMax)} …` : text;
}
