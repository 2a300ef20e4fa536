import { Dialog } from '@base-ui/react/dialog';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { type SubmitEvent, useDeferredValue, useEffect, useState } from 'react';
import type { Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { type Action, keysInWords } from './actions.ts';
import styles from './shell.module.css';
import { useTaskActions } from './task-actions.tsx';

const groups = ['This task', 'Work', 'Pages', 'Saved views', 'Console'] as const;
const foundMax = 8;
const wordsCharactersMax = 200;

interface PaletteProps {
  readonly actions: readonly Action[];
  /** Stands in the field already. */
  readonly given: string;
  onClose(): void;
}

/** Every action, and the tasks that are searched for. */
export default function Palette({ actions, given, onClose }: PaletteProps) {
  const all = [...useTaskActions(), ...actions];
  const [asking, setAsking] = useState<Action>();
  const choose = (action: Action) => {
    if (action.asks !== undefined) return setAsking(action);
    onClose();
    void action.run('');
  };
  // The dialog of cmdk writes a style of its own into the page, which the content security policy forbids.
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles.overlay} />
        <Dialog.Popup className={`${styles.dialog} ${styles.palette}`} aria-label="Commands">
          {asking === undefined ? (
            <Choice actions={all} given={given} onChoose={choose} onClose={onClose} />
          ) : (
            <Answer action={asking} onClose={onClose} />
          )}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Choice({
  actions,
  given,
  onChoose,
  onClose,
}: PaletteProps & { readonly onChoose: (action: Action) => void }) {
  const navigate = useNavigate();
  const [text, setText] = useState(given);
  const words = useDeferredValue(text.trim());
  const found = useQuery({
    queryKey: ['tasks', 'palette', words],
    queryFn: ({ signal }) =>
      baton.tasks.list({ q: words, limit: foundMax }, { signal }).then(({ items }) => items),
    enabled: words.length > 1,
    placeholderData: (before) => before,
  });
  const tasks = words.length > 1 ? (found.data ?? []) : [];
  const [chosen, setChosen] = useState('');
  // Tasks come after the letters: where no action has these words, Enter opens the first of them.
  const firstFound = tasks[0] && valueOf(tasks[0]);
  useEffect(() => {
    if (firstFound !== undefined)
      setChosen((before) => (before === '' || before === searchValue ? firstFound : before));
  }, [firstFound]);
  return (
    <Command label="Commands" loop value={chosen} onValueChange={setChosen}>
      <Command.Input
        value={text}
        onValueChange={setText}
        placeholder="Go to a page, find a task, do something"
        maxLength={wordsCharactersMax}
        autoFocus
      />
      <Command.List>
        {text.trim().length <= 1 && <Command.Empty>Nothing has these words.</Command.Empty>}
        {groups.map((group) => {
          const own = actions.filter((action) => action.group === group);
          if (own.length === 0) return null;
          return (
            <Command.Group key={group} heading={group}>
              {own.map((action) => (
                <Command.Item key={action.name} value={action.name} onSelect={() => onChoose(action)}>
                  <span className={styles.action}>
                    {action.name}
                    {action.asks !== undefined && ' …'}
                  </span>
                  {action.keys !== undefined && (
                    <kbd className={styles.actionKeys}>{keysInWords(action.keys)}</kbd>
                  )}
                </Command.Item>
              ))}
            </Command.Group>
          );
        })}
        {text.trim().length > 1 && (
          <Command.Group heading="Tasks" forceMount>
            {tasks.map((task) => (
              <Command.Item
                key={task.id}
                value={valueOf(task)}
                forceMount
                onSelect={() => {
                  onClose();
                  void navigate({ to: '/tasks/$ref', params: { ref: task.publicId } });
                }}
              >
                <span className={styles.action}>
                  <span className="mono soft">{task.publicId}</span> {task.title}
                </span>
              </Command.Item>
            ))}
            <Command.Item
              value={searchValue}
              forceMount
              onSelect={() => {
                onClose();
                void navigate({ to: '/', search: { q: text.trim() } });
              }}
            >
              <span className={styles.action}>Search all tasks for “{text.trim()}”</span>
            </Command.Item>
          </Command.Group>
        )}
      </Command.List>
    </Command>
  );
}

const searchValue = 'search all tasks';
const valueOf = ({ publicId, title }: Task) => `${publicId} ${title}`.trim();

/** The text that an action needs, before it runs. */
function Answer({ action, onClose }: { readonly action: Action; onClose(): void }) {
  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const answer = String(new FormData(event.currentTarget).get('answer')).trim();
    if (answer === '') return;
    onClose();
    void action.run(answer);
  }
  return (
    <form className="stack" onSubmit={onSubmit}>
      <label className="stack">
        {action.asks?.label}
        <input name="answer" maxLength={action.asks?.charactersMax} required autoFocus autoComplete="off" />
      </label>
      <div className="row">
        <button type="submit" className="primary">
          {action.name}
        </button>
        <Dialog.Close>Cancel</Dialog.Close>
      </div>
    </form>
  );
}
