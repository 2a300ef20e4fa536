import { revealHidden } from '@baton/sdk';
import styles from './approval.module.css';
import { valueText } from './subject-labels.ts';

type Action = Readonly<Record<string, unknown>>;

interface ActionsProps {
  readonly title: string;
  readonly actions: readonly Action[];
  readonly isChanged: boolean;
}

/** The actions that the task's type declares for a decision, with their inputs filled in. */
export function Actions({ title, actions, isChanged }: ActionsProps) {
  return (
    <section className={styles.answer} aria-label={title}>
      <p className={styles.answerTitle}>
        {title} {isChanged && <span className={styles.badge}>changed</span>}
      </p>
      {actions.length === 0 ? (
        <p className="soft">No follow-up actions.</p>
      ) : (
        <ActionList actions={actions} />
      )}
    </section>
  );
}

function ActionList({ actions }: { readonly actions: readonly Action[] }) {
  return (
    <ol className={styles.actions}>
      {actions.map((action, index) => {
        const [kind, content] = Object.entries(action)[0] ?? ['', undefined];
        return <OneAction key={index} kind={kind} content={(content ?? {}) as Action} />;
      })}
    </ol>
  );
}

/** The description of each kind of action, and the member of an action that names its object. */
const kinds: Readonly<Record<string, readonly [words: string, member?: string]>> = {
  invokeSkill: ['Calls the skill', 'skill'],
  ensureWork: ['Creates the task', 'title'],
  comment: ['Adds the comment', 'body'],
  completeTask: ['Completes the task', 'task'],
  transition: ['Sets the status', 'status'],
};

const reactions = { onSuccess: 'On success', onFailure: 'On failure' } as const;

function OneAction({ kind, content }: { readonly kind: string; readonly content: Action }) {
  const [words, main] = Object.hasOwn(kinds, kind) ? (kinds[kind] ?? []) : [];
  const members = Object.entries(content).filter(
    ([name]) => name !== main && !Object.hasOwn(reactions, name),
  );
  return (
    <li>
      <p>
        {words ?? revealHidden(kind)}{' '}
        {main !== undefined && content[main] != null && (
          <strong className="text">{revealHidden(valueText(content[main]))}</strong>
        )}
      </p>
      {members.length > 0 && (
        <dl className={styles.inputs}>
          {members
            .flatMap(([name, value]) => leavesOf(name, value))
            .map(([name, value]) => (
              <div key={name} className={styles.input}>
                <dt className={styles.name}>{revealHidden(name)}</dt>
                <dd className="text">{revealHidden(valueText(value))}</dd>
              </div>
            ))}
        </dl>
      )}
      {Object.entries(reactions).map(([name, when]) => {
        const following = content[name];
        if (!Array.isArray(following) || following.length === 0) return null;
        return (
          <div key={name}>
            <p className="soft">{when}:</p>
            <ActionList actions={following as Action[]} />
          </div>
        );
      })}
    </li>
  );
}

/** The values in an object, each by its path; a list counts as one value. */
function leavesOf(name: string, value: unknown): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[name, value]];
  const members = Object.entries(value);
  return members.length === 0
    ? [[name, value]]
    : members.flatMap(([inner, of]) => leavesOf(`${name} › ${inner}`, of));
}
