import { Dialog } from '@base-ui/react/dialog';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { useDeferredValue, useState } from 'react';
import { baton } from '../client.ts';
import { places } from './places.ts';
import styles from './shell.module.css';

/** Every page, every act that needs no place, and the tasks that are searched for. */
export default function Palette({ onClose, onSignOut }: { onClose: () => void; onSignOut: () => void }) {
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const words = useDeferredValue(text.trim());
  const found = useQuery({
    queryKey: ['tasks', 'palette', words],
    queryFn: ({ signal }) => baton.tasks.list({ q: words, limit: 8 }, { signal }).then(({ items }) => items),
    enabled: words.length > 1,
    placeholderData: (before) => before,
  });
  const go = (act: () => unknown) => () => {
    onClose();
    act();
  };
  // The dialog of cmdk writes a style of its own into the page, which the content security policy forbids.
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles.overlay} />
        <Dialog.Popup className={`${styles.dialog} ${styles.palette}`} aria-label="Commands">
          <Command label="Commands" loop>
            <Command.Input
              value={text}
              onValueChange={setText}
              placeholder="Go to a page, find a task, do something"
              maxLength={200}
              autoFocus
            />
            <Command.List>
              <Command.Empty>Nothing has these words.</Command.Empty>
              <Command.Group heading="Pages">
                {places.map(({ to, name }) => (
                  <Command.Item key={to} value={name} onSelect={go(() => navigate({ to }))}>
                    {name}
                  </Command.Item>
                ))}
              </Command.Group>
              <Command.Group heading="Acts">
                <Command.Item
                  value="Create a task"
                  onSelect={go(() => navigate({ to: '/', search: { create: true } }))}
                >
                  Create a task
                </Command.Item>
                <Command.Item value="Sign out" onSelect={go(onSignOut)}>
                  Sign out
                </Command.Item>
              </Command.Group>
              {found.data !== undefined && found.data.length > 0 && (
                <Command.Group heading="Tasks" forceMount>
                  {found.data.map((task) => (
                    <Command.Item
                      key={task.id}
                      value={`${task.publicId} ${task.title}`}
                      forceMount
                      onSelect={go(() => navigate({ to: '/tasks/$ref', params: { ref: task.publicId } }))}
                    >
                      <span className="mono soft">{task.publicId}</span> {task.title}
                    </Command.Item>
                  ))}
                </Command.Group>
              )}
            </Command.List>
          </Command>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
