-- The folder bound to an author.
SELECT name FROM author_folders WHERE author_id = :author_id
