"""Statements of other processes on an engine that this process writes with."""

import pytest

from sql.database.dsn import Embedded
from sql.database.holder import Refused, Statement
from sql.database.open import Database


@pytest.mark.parametrize("settings", [{}, {"readonly": "0"}, {"readonly": "0", "max_execution_time": "0"}])
def test_no_setting_of_a_client_lets_it_write(database: Database, settings: dict[str, str]) -> None:
    target = Embedded(database.folder, database.name)
    insert = Statement("INSERT INTO dead_letters (cluster) VALUES ('c')", database.name, {}, settings)
    with pytest.raises(Refused, match="readonly"):
        list(insert.answer(target, "a-name"))
    assert database.query("SELECT count() FROM dead_letters").rows == [(0,)]


def test_a_client_s_own_settings_hold_but_for_how_long_it_may_take(database: Database) -> None:
    wanted = "('max_execution_time', 'max_result_rows')"
    asked = f"SELECT name, value FROM system.settings WHERE name IN {wanted} ORDER BY name"
    given = {"max_execution_time": "0", "max_result_rows": "7"}
    answer = Statement(asked, database.name, {}, given).answer(Embedded(database.folder, database.name), "a-name")
    assert b"".join(answer).decode().split() == ["max_execution_time", "60", "max_result_rows", "7"]
